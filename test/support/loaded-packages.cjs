const { writeFileSync } = require('node:fs');
const { join } = require('node:path');

/** Loaded before a program: at its end it leaves a file that names the packages of OpenTelemetry that it has loaded. */
process.on('exit', () => {
  const names = Object.keys(require.cache).flatMap((file) => /@opentelemetry\/[\w-]+/.exec(file) ?? []);
  writeFileSync(join(process.env.SVC_TEST_LOADED, String(process.pid)), [...new Set(names)].join('\n'));
});
