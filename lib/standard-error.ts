/**
 * Lets the process outlive a log that cannot be written, on a full disk or in a pipe that nobody reads any more. Lines are lost until it can be
 * written again.
 */
export function outliveLog(): void {
  if (!process.stderr.listeners('error').includes(ignore)) process.stderr.on('error', ignore);
}

const ignore = () => {};
