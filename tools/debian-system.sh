# A Debian of its own, of another suite than this machine's, for the checks that take one: they source this file.
# The system is kept in ${XDG_CACHE_HOME:-~/.cache}/anvil, and what was compiled in it.
# Before it, `check` is the name of the check, and `suite` and `system` are what to make, and where.

verdict() { # words, status
  echo "${check}: $1"
  exit "$2"
}

# Runs a line of shell in the system, in the folder /work; its arguments are options of unshare. Mounts and what was
# started are gone afterwards.
inside() { # line, options of unshare
  line=$1
  shift
  unshare --mount --pid --fork --kill-child "$@" sh -c '
    mount -t proc proc "$1/proc" && mount -t tmpfs -o mode=1777 shm "$1/dev/shm" &&
    exec chroot "$1" env -i --default-signal=INT,QUIT HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 CI=true NOT_CRAN=true \
      DEBIAN_FRONTEND=noninteractive ANVIL_TARGET_DIR=/work/target/package CARGO_TARGET_DIR=/work/target/tests \
      sh -c "cd /work && $2"' sh "${system}" "${line}" &
  child=$!
  wait "${child}"
}
# The first process of a system of its own is deaf to an interrupt.
child=""
trap 'test -z "${child}" || kill -KILL "${child}"; exit 130' INT TERM
offline() { inside "ip link set lo up && $1" --net; }

# Makes the system, once, and lets it reach the mirror.
make_system() {
  if test "$(id -u)" -ne 0; then verdict "needs root, to make and enter a system of its own" 1; fi
  sh tools/install-deps.sh "${1:-build}" && sh tools/install-deps.sh debootstrap ||
    verdict "something to build with is missing" 1
  if ! test -d "${system}"; then
    echo "== ${suite}, once"
    mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1)
    test -n "${mirror}" || verdict "apt knows no mirror of Debian" 1
    mkdir -p "${system%/*}"
    rm -Rf "${system}.new"
    debootstrap --variant=minbase "${suite}" "${system}.new" "${mirror}" > "${system}.log" 2>&1 ||
      { tail -n 20 "${system}.log"; verdict "debootstrap failed: ${system}.log" 1; }
    mkdir -p "${system}.new/work"
    mv "${system}.new" "${system}"
  fi
  cp /etc/resolv.conf "${system}/etc/resolv.conf"
  # A mirror may be a copy of some weeks ago, and lists of suites that are not released yet say until when they hold.
  echo 'Acquire::Check-Valid-Until "false";' > "${system}/etc/apt/apt.conf.d/99any-age"
}

# A copy of the checkout in /work/anvil: what is edited meanwhile is not in it, and what is built is not in the checkout.
copy_checkout() {
  source="${system}/work/anvil"
  rm -Rf "${source}"
  mkdir -p "${source}"
  git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do test ! -e "$f" || echo "$f"; done' sh |
    tar -cf - -T - | tar -C "${source}" -xf -
}

# The crates in /work/vendor. cargo takes them from there with the options ${vendored}.
vendored="--config 'source.crates-io.replace-with=\"vendored\"' --config 'source.vendored.directory=\"/work/vendor\"'"
fetch_crates() {
  rm -Rf "${system}/work/vendor"
  (cd "${source}" && cargo vendor --quiet --locked ../vendor > /dev/null) || verdict "the crates cannot be fetched" 1
  # What cargo knows of our own crates goes by the time of files, which says nothing where several checkouts come in turn.
  rm -Rf "${system}"/work/target/*/*/.fingerprint/anvil-* "${system}"/work/target/*/*/*/.fingerprint/anvil-*
}
