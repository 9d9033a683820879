import { relative } from 'node:path';
import { root } from '../bin/sources.mjs';

/** What a JSON report of vitest says: how many tests passed and failed, and each failure as `{ file, test, message }`, with `test` null where a file failed outside its tests. */
export function readReport({ numPassedTests: passed, numFailedTests: failed, testResults }) {
  return { passed, failed, failures: testResults.flatMap(failuresOf) };
}

/** One line that names a failed test, what went wrong, and the line of the tests where it did. */
export function describeFailure({ file, test, message }) {
  const at = /\((?:file:\/\/)?(\S+\/test\/\S+)\)|at (?:file:\/\/)?(\S+\/test\/\S+)/.exec(message);
  const place = at === null ? '' : ` (${relative(root, at[1] ?? at[2])})`;
  return `${file}${test === null ? '' : `: ${test}`}: ${message.split('\n', 1)[0]}${place}`;
}

/**
 * Files whose failure may only be a timeout on a busy machine and deserves another run. Empty if too many failed, or if a proof that nothing runs
 * twice or unapproved did: such a fault shows once in many runs, so it gets no second chance.
 */
export function filesToRunAgain(failures) {
  const files = [...new Set(failures.map(({ file }) => file))];
  return files.length > 5 || files.some((file) => /^test\/(faults|model)\//.test(file)) ? [] : files;
}

function failuresOf({ name, status, message, assertionResults }) {
  const file = relative(root, name);
  const tests = assertionResults.filter((test) => test.status === 'failed');
  if (tests.length > 0)
    return tests.map(({ fullName, failureMessages }) => ({ file, test: fullName, message: failureMessages[0] ?? '' }));
  return status === 'failed' ? [{ file, test: null, message }] : [];
}
