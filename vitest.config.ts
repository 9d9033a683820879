import { defineConfig } from 'vitest/config';
import { LongFirst } from './test/support/long-first.js';

/** They change what a whole process shares, so each file has a process of its own. */
const isolated = ['test/dev/session.test.ts', 'test/workflows/clock.test.ts'];

/** Proofs that `npm test` runs too, with the small share of their rounds that test/support/share.ts gives them. */
const shared = [
  'test/agent/key-rotation.test.ts',
  'test/api/{evidence-plays,fuzz,hostile-texts,mcp-many,preflight-agreement,results-bytes,waiters}.test.ts',
  'test/cli/audit.test.ts',
  'test/crypto/tlog.test.ts',
  'test/dev/{child,engines,gateway-plan,lock,ports,test-report,users}.test.ts',
  'test/faults/kill-points.test.ts',
  'test/model/requests.test.ts',
  'test/sql/{invariants,postgres-suite}.test.ts',
  'test/sql/mysql/{second-parser,suite}.test.ts',
];

/** Further ones take long whatever they are given: they start, kill and fetch whole programs, or fill whole tables. */
const whole = [
  'test/agent/{kill,ten-million-rows,migrations/kill,mysql/kill,mysql/migration-kill,reload-process}.test.ts',
  'test/api/{mcp-conformance,openapi-client,openapi-linters,preflight-outage,slack-hostile,traces}.test.ts',
  'test/browser/!(bounds|way).test.ts',
  'test/cli/{login-renewal,trust-killed}.test.ts',
  'test/db/{request-list,request-total}.test.ts',
  'test/deploy/{databases,helm,helm-refusals,pin-keys}.test.ts',
  'test/dev/!(child|engines|gateway-plan|lock|ports|session|test-report|users).test.ts',
  'test/docs/commands.test.ts',
  'test/faults/!(kill-points).test.ts',
  'test/model/!(requests).test.ts',
  'test/runtime/{check-agrees,start-wait}.test.ts',
  'test/tracing/otlp.test.ts',
  'test/worker/{outage,sealer-kills,traces,anchor/delivery,anchor/process}.test.ts',
];

/** A share runs among the tests, in processes that have loaded the sources already. */
const proofs = process.env.SVC_TEST_PROOFS === 'share' ? whole : [...shared, ...whole];
const all = 'test/**/*.test.ts';

/** Files of a project share the processes that they run in, and so what those have loaded: a test leaves nothing behind in them. */
const project = (name: string, files: { include: string[]; exclude?: string[]; isolate?: boolean }) => ({
  test: {
    name,
    isolate: false,
    /** Worker processes, not threads: the native part of the Temporal worker does not like threads. */
    pool: 'forks' as const,
    /** Long enough for a test that starts several programs on a busy machine. */
    testTimeout: 60_000,
    hookTimeout: 120_000,
    /** What a test polls for comes on a busy machine too. */
    expect: { poll: { timeout: 15_000 } },
    ...files,
  },
});

/** A sequencer of our own would keep the files from being shuffled. */
const isShuffled = process.argv.some((word) => word.startsWith('--sequence.shuffle'));

export default defineConfig({
  test: {
    sequence: isShuffled ? {} : { sequencer: LongFirst },
    globalSetup: ['test/support/global-setup.ts'],
    teardownTimeout: 30_000,
    /** More than there are cores: a test waits for clocks and engines about as long as it computes. */
    maxWorkers: 5,
    projects: [
      project('tests', { include: [all], exclude: [...isolated, ...proofs] }),
      project('isolated', { include: isolated, isolate: true }),
      project('proofs', { include: proofs }),
      // No tests: they write the histories that tests replay (test/histories/record.ts).
      ...(process.env.SVC_TEST_RECORD === '1' ? [project('histories', { include: ['test/histories/recorded-*.ts'] })] : []),
    ],
  },
});
