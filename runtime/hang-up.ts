/** Passes SIGHUP to the reloader. A signal that arrives before `connect` is kept for it (CF-40). `release` removes the handler. */
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
