/** Hands SIGHUP to whoever reloads; one that comes before there is a reload is kept for it (CF-40). `release` takes the handler back. */
export function hangUpSignal(): { connect: (reload: () => void) => void; release: () => void } {
  let isWaiting = false;
  let onSignal = () => {
    isWaiting = true;
  };
  const handle = () => onSignal();
  process.on('SIGHUP', handle);
  return {
    connect: (reload) => {
      onSignal = reload;
      if (isWaiting) reload();
    },
    release: () => void process.off('SIGHUP', handle),
  };
}
