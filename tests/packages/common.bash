# Sourced by the checks of tests/packages: TAP.
result() { # result NAME LINES: no lines is a pass
  number=$((number + 1))
  if [[ -z $2 ]]; then echo "ok $number $1"; else
    echo "not ok $number $1"
    sed 's/^/# /' <<<"$2"
  fi
}
skip() { # skip NAME REASON
  number=$((number + 1))
  echo "ok $number $1 # SKIP $2"
}
