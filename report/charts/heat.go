package charts

// heat draws a value for each client and server.
type heat struct {
	title, note      string
	clients, servers []string
	cells            map[[2]string]heatCell // by client and server
	label            func(float64) string
	more             bool // more is better
}

type heatCell struct {
	value    float64
	unstable bool
}

func (c heat) draw() *drawing {
	var values []float64
	for _, v := range c.cells {
		values = append(values, v.value)
	}
	lo, hi, _ := ends(values)
	scale := logAxis(lo, hi, c.label)

	d := &drawing{w: width}
	top := d.heading(c.title, c.note) + 20
	names := textWidth("client", textSize)
	for _, n := range c.clients {
		names = max(names, textWidth(n, textSize))
	}
	names = min(names, 110)
	x0 := edge + names + 8
	w := min((d.w-x0-edge)/float64(len(c.servers)), 110)
	const h = 34
	d.label(edge, top-4, "client", left, textSize, inkMuted)
	for j, s := range c.servers {
		head := cut(s, w-4, textSize)
		if j == 0 {
			head = cut("server "+s, w-4, textSize)
		}
		d.label(x0+w*(float64(j)+0.5), top-4, head, middle, textSize, inkMuted)
	}
	for i, client := range c.clients {
		y := top + h*float64(i)
		d.label(edge, y+h/2+4, cut(client, names, textSize), left, textSize, inkText)
		for j, server := range c.servers {
			v, ok := c.cells[[2]string{client, server}]
			if !ok {
				continue
			}
			x := x0 + w*float64(j)
			level := scale.place(v.value)
			if !c.more {
				level = 1 - level
			}
			text := c.label(v.value)
			if v.unstable {
				text = "~ " + text
			}
			d.tip(client+" → "+server+": "+text, func() {
				d.fill(x+1, y+1, w-2, h-2, inkHeat, 0.08+0.5*level)
				d.label(x+w/2, y+h/2+4, text, middle, textSize, inkText)
			})
		}
	}
	d.h = top + h*float64(len(c.clients)) + edge
	return d
}
