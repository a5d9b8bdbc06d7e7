package broker

import "slices"

// service is one provider's, and who is interested.
type service struct {
	id        uint32
	name      string
	owner     *peer
	methods   []uint32
	consumers []*peer // each once
	// subscribers by event ID. A list is never changed but replaced, so that it can be walked without the lock.
	subscribers map[uint32][]*peer
}

// register adds a service of p.
func (r *Router) register(p *peer, name string, methods []uint32) (id, result uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case name == "" || len(name) > maxName || len(methods) > maxMethods:
		return 0, ResultMalformed
	case r.services[name] != nil:
		return 0, ResultTaken
	case len(p.services) >= maxServices || r.serviceN == 1<<32-1:
		return 0, ResultTooMany
	}
	r.serviceN++
	s := &service{id: r.serviceN, name: name, owner: p, methods: methods, subscribers: map[uint32][]*peer{}}
	r.services[name], r.byID[s.id] = s, s
	p.services = append(p.services, s)
	return s.id, ResultOK
}

// withdraw takes a service of p's own from those that can be found. Who has found it keeps it.
func (r *Router) withdraw(p *peer, id uint32) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byID[id]
	if s == nil || s.owner != p {
		return ResultNotFound
	}
	r.hide(s)
	return ResultOK
}

// hide frees the name of a service, unless another has it by now. The lock is held.
func (r *Router) hide(s *service) {
	if r.services[s.name] == s {
		delete(r.services, s.name)
	}
}

// lookup finds a service for a consumer, who is told to its provider, and of whose end the provider will hear.
func (r *Router) lookup(p *peer, name string) (s *service, result uint32) {
	r.mu.Lock()
	s = r.services[name]
	if s == nil {
		r.mu.Unlock()
		return nil, ResultNotFound
	}
	if result := r.interest(p, s); result != ResultOK {
		r.mu.Unlock()
		return nil, result
	}
	r.mu.Unlock()
	s.owner.deliver(Frame(Header{BufType: BufControl, Event: Attached, Source: p.cookie, Target: s.owner.cookie, Service: s.id}, nil), mayWait)
	return s, ResultOK
}

// interest notes that p is to hear of the end of s, and the other way round. The lock is held.
func (r *Router) interest(p *peer, s *service) uint32 {
	if slices.Contains(p.interests, s) {
		return ResultOK
	}
	if len(p.interests) >= maxInterests {
		return ResultTooMany
	}
	p.interests = append(p.interests, s)
	s.consumers = append(s.consumers, p)
	return ResultOK
}

// subscribe adds p to the list of a broadcast.
func (r *Router) subscribe(p *peer, id, event uint32) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byID[id]
	if s == nil {
		return ResultNotFound
	}
	old := s.subscribers[event]
	if slices.Contains(old, p) {
		return ResultOK
	}
	if old == nil && len(s.subscribers) >= maxMethods {
		return ResultTooMany
	}
	if result := r.interest(p, s); result != ResultOK {
		return result
	}
	s.subscribers[event] = append(slices.Clip(old), p)
	return ResultOK
}

// subscribers are those of a broadcast of p's own service, and whether that is one.
func (r *Router) subscribersOf(p *peer, id, event uint32) ([]*peer, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	s := r.byID[id]
	if s == nil || s.owner != p {
		return nil, false
	}
	return s.subscribers[event], true
}

// remove forgets a connection and tells those who had to do with it.
func (r *Router) remove(p *peer) {
	r.mu.Lock()
	delete(r.peers, p.cookie)
	var tell []*peer
	add := func(q *peer) {
		if q != p && !slices.Contains(tell, q) {
			tell = append(tell, q)
		}
	}
	for _, s := range p.services {
		r.hide(s)
		delete(r.byID, s.id)
		for _, c := range s.consumers {
			add(c)
			c.interests = slices.DeleteFunc(c.interests, func(x *service) bool { return x == s })
		}
	}
	for _, s := range p.interests {
		add(s.owner)
		s.consumers = slices.DeleteFunc(s.consumers, func(x *peer) bool { return x == p })
		for event, list := range s.subscribers {
			if slices.Contains(list, p) {
				s.subscribers[event] = slices.DeleteFunc(slices.Clone(list), func(x *peer) bool { return x == p })
			}
		}
	}
	p.services, p.interests = nil, nil
	r.mu.Unlock()
	for _, q := range tell {
		// In its queue like any message: what was sent before the end comes before this.
		q.deliver(Frame(Header{BufType: BufControl, Event: Gone, Source: p.cookie, Target: q.cookie}, nil), overflow)
	}
}
