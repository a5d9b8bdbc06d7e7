#!/usr/bin/env bash
# A run spread over the nodes of a Slurm cluster, a shard a node:
#
#   sbatch --array=1-4 scripts/slurm.sh full 7      # suite and seed; options of `msgbench run` may follow
#
# When all have ended, on any machine that sees the folder:
#
#   msgbench merge msgbench-shards/full-7/* --out whole
#
# Nodes are taken whole, since others on them would be in the figures. Each leaves one directory; one that is there already is not
# touched, so that a part which has failed can be started again once its directory is moved away.
#SBATCH --job-name=msgbench
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --exclusive
#SBATCH --time=04:00:00
#SBATCH --output=msgbench-%A-%a.log
set -euo pipefail

suite=${1:?usage: sbatch --array=1-N scripts/slurm.sh SUITE SEED [OPTION...]}
seed=${2:?usage: sbatch --array=1-N scripts/slurm.sh SUITE SEED [OPTION...]}
shift 2
name=$(basename "$suite" .yaml)
parts=${MSGBENCH_SHARDS:-msgbench-shards}/$name-$seed
mkdir -p "$parts"

code=0
"${MSGBENCH:-msgbench}" run "$suite" --shard auto --seed "$seed" --out "$parts/part-${SLURM_ARRAY_TASK_ID:?not a Slurm array: want sbatch --array=1-N}" "$@" || code=$?
# Unstable rows (4) are a result, which the report marks; the job is not to be held for failed.
[ "$code" = 4 ] || exit "$code"
