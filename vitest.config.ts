import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    /** Worker processes, not threads: the native part of the Temporal worker does not like threads. */
    pool: 'forks',
    testTimeout: 20_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
    /** Two at once even on two cores: a test waits for clocks and engines about as long as it computes. */
    maxWorkers: 2,
    /** What a test polls for comes on a busy machine too. */
    expect: { poll: { timeout: 15_000 } },
  },
});
