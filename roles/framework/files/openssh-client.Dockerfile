# mpirun on one node starts the ranks on the others by ssh.
ARG BASE
FROM ${BASE}
RUN command -v ssh || (apt-get update && apt-get install -y --no-install-recommends openssh-client && rm -rf /var/lib/apt/lists/*)
