# srun --ntasks N sh part.sh LIST: each task of Slurm checks its part of a list of files.
awk -v tasks="$SLURM_NTASKS" -v task="$SLURM_PROCID" 'NR % tasks == task' "$1" |
    b2nd check --data --files-from - 2>"explained.$SLURM_PROCID"
