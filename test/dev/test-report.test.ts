import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { clone } from '../../dev/layout.js';
import { describeFailure, filesToRunAgain, readReport } from '../../dev/test-report.mjs';

const failed = (file: string) => ({ file, test: 'a thing', message: 'Error: no' });

describe('the report of a run of the tests', () => {
  it('names each failed test, what went wrong and where', () => {
    const message = `AssertionError: expected 1 to be 2\n    at ${join(clone, 'test/sql/a.test.ts')}:4:98\n    at file:///elsewhere.js:1:1`;
    const { passed, failures } = readReport({
      numPassedTests: 1,
      numFailedTests: 1,
      testResults: [
        {
          name: join(clone, 'test/sql/a.test.ts'),
          status: 'failed',
          message: '',
          assertionResults: [
            { status: 'passed', fullName: 'group good', failureMessages: [] },
            { status: 'failed', fullName: 'group bad', failureMessages: [message] },
          ],
        },
      ],
    });
    expect(passed).toBe(1);
    expect(failures.map(describeFailure)).toEqual([
      'test/sql/a.test.ts: group bad: AssertionError: expected 1 to be 2 (test/sql/a.test.ts:4:98)',
    ]);
  });

  it('names a file that failed outside its tests', () => {
    const result = {
      name: join(clone, 'test/sql/a.test.ts'),
      status: 'failed',
      message: 'SyntaxError: no\nmore',
      assertionResults: [],
    };
    const { failures } = readReport({ numPassedTests: 0, numFailedTests: 0, testResults: [result] });
    expect(failures.map(describeFailure)).toEqual(['test/sql/a.test.ts: SyntaxError: no']);
  });
});

describe('what is run a second time', () => {
  it('is each file once', () => {
    expect(filesToRunAgain([failed('test/sql/a.test.ts'), failed('test/sql/a.test.ts'), failed('test/db/b.test.ts')])).toEqual([
      'test/sql/a.test.ts',
      'test/db/b.test.ts',
    ]);
  });

  it('is nothing when what failed proves that nothing runs twice', () => {
    expect(filesToRunAgain([failed('test/sql/a.test.ts'), failed('test/faults/kills.test.ts')])).toEqual([]);
    expect(filesToRunAgain([failed('test/model/requests.test.ts')])).toEqual([]);
  });

  it('is nothing when many files failed', () => {
    expect(filesToRunAgain(Array.from({ length: 6 }, (_, n) => failed(`test/sql/${n}.test.ts`)))).toEqual([]);
  });
});
