#!/bin/bash
# Run workloads/collectives/diagnose.py on four nodes: network namespaces on a bridge, whose links have a rate each.
#   unshare --net --pid --fork --kill-child --mount-proc bash shaped_nodes.sh OUT PYTHON WORKLOADS [LINK=RATE|STOPPED=N]...
# A link is 1-4, with other rate than 100mbit. STOPPED=3: node 3 does not run for 40 of every 100 ms, as under a CPU quota.
# All processes are in a namespace of their own and end with this script.
set -eu
out=$1 python=$2 workloads=$3
shift 3
declare -A rate pid
stopped=""
for given in "$@"; do
  case $given in STOPPED=*) stopped=${given#*=} ;; *) rate[${given%=*}]=${given#*=} ;; esac
done
ip link set lo up
ip link add bridge0 type bridge
ip link set bridge0 up
for node in 1 2 3 4; do
  unshare --net sleep infinity &
  pid[$node]=$!
  until [ "$(readlink "/proc/${pid[$node]}/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
  inside=(nsenter --target "${pid[$node]}" --net)
  ip link add "port$node" type veth peer name eth0 netns "${pid[$node]}"
  ip link set "port$node" master bridge0 up
  "${inside[@]}" ip link set lo up
  "${inside[@]}" ip address add "10.99.0.$node/24" dev eth0
  "${inside[@]}" ip link set eth0 up
  "${inside[@]}" tc qdisc add dev eth0 root handle 1: htb
  for other in 1 2 3 4; do
    [ "$other" != "$node" ] || continue
    link=$((node < other ? node : other))-$((node < other ? other : node))
    "${inside[@]}" tc class add dev eth0 parent 1: classid "1:$other" htb rate "${rate[$link]:-100mbit}" burst 16k 2> /dev/null
    "${inside[@]}" tc filter add dev eth0 parent 1: protocol ip u32 match ip dst "10.99.0.$other/32" flowid "1:$other"
  done
done
cd "$workloads"
for node in 1 2 3 4; do
  SCALEBENCH_NODE=node$node GLOO_SOCKET_IFNAME=eth0 OMP_NUM_THREADS=1 TORCH_CPP_LOG_LEVEL=ERROR \
    setsid nsenter --target "${pid[$node]}" --net "$python" -m torch.distributed.run --nnodes=4 --nproc-per-node=1 \
    --node-rank=$((node - 1)) --master-addr=10.99.0.1 --master-port=29500 collectives/diagnose.py \
    --device=cpu --bytes=1048576 > "$out/$node.log" 2>&1 &
  job[$node]=$!
done
if [ -n "$stopped" ]; then
  # torchrun gives its rank a session of its own.
  (while sleep 0.06; do
    ranks=$(pgrep -f "^$python -u collectives/diagnose.py" || true)
    for rank in $ranks; do
      if tr '\0' '\n' < "/proc/$rank/environ" | grep -qx "SCALEBENCH_NODE=node$stopped"; then
        while kill -STOP "$rank" && sleep 0.04 && kill -CONT "$rank"; do sleep 0.06; done
      fi
    done
  done) 2> /dev/null &
fi
wait "${job[@]}"
