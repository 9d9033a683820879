/** A script for a page: its clocks run `factor` times as fast, so that it polls as often as it would in the simulated time. */
export const hurried = (factor: number) => `
  for (const name of ['setTimeout', 'setInterval']) {
    const wait = globalThis[name];
    globalThis[name] = (work, ms = 0, ...rest) => wait(work, ms / ${factor}, ...rest);
  }
  const now = performance.now.bind(performance);
  performance.now = () => now() * ${factor};`;
