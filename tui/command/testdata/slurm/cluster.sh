#!/bin/sh
# Starts a Slurm of two nodes on this machine in a folder of its own, without systemd, cgroups or accounting:
# cluster.sh FOLDER PORT. It uses PORT to PORT+2, changes nothing outside the folder, and leaves the process IDs of its daemons in
# FOLDER/*.pid. SLURM_CONF=FOLDER/slurm.conf makes Slurm's commands use it. It needs root, slurm-wlm and munge.
set -eu
folder=$1 port=$2
host=$(hostname -s)
mkdir -p "$folder/state" "$folder/n1" "$folder/n2" "$folder/munge"
chmod 755 "$folder" "$folder/munge"
head -c 1024 /dev/urandom >"$folder/munge/key"
chmod 400 "$folder/munge/key"
munged --force --socket="$folder/munge/socket" --key-file="$folder/munge/key" --pid-file="$folder/munged.pid" \
	--log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
cat >"$folder/slurm.conf" <<C
ClusterName=prismtop
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket,cred_expire=5
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SlurmctldPort=$port
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
SlurmdSpoolDir=$folder/%n
StateSaveLocation=$folder/state
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/%n.log
SlurmctldTimeout=30
SlurmdTimeout=10
KillWait=5
MinJobAge=300
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobRequeue=1
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=1 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=1 State=UNKNOWN
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
C
export SLURM_CONF="$folder/slurm.conf"
slurmctld -f "$SLURM_CONF"
for node in n1 n2; do slurmd -f "$SLURM_CONF" -N $node; done
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	if [ "$(sinfo --noheader --Node --format=%T 2>/dev/null | grep -c idle)" = 2 ]; then exit 0; fi
	sleep 0.5
done
echo "the nodes are not idle:" >&2
sinfo --Node >&2
exit 1
