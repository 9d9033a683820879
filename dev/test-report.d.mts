/** A failed test, or with `test` null a file that failed outside its tests. */
export interface Failure {
  file: string;
  test: string | null;
  message: string;
}

/** The part of a JSON report of vitest that is read. */
export interface Report {
  numPassedTests: number;
  numFailedTests: number;
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

export function readReport(report: Report): { passed: number; failed: number; failures: Failure[] };
export function describeFailure(failure: Failure): string;
export function filesToRunAgain(failures: Failure[]): string[];
