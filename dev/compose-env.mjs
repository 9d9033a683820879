import { randomBytes } from 'node:crypto';
import { linkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../bin/sources.mjs';

const token = () => `svc_${randomBytes(16).toString('hex')}`;
const password = () => randomBytes(24).toString('hex');

const values = {
  SVC_SECRET_KEY: randomBytes(32).toString('hex'),
  SVC_BOOTSTRAP_ADMIN_TOKEN: token(),
  SVC_BOOTSTRAP_AGENT_TOKEN: token(),
  POSTGRES_PASSWORD: password(),
  SVC_DATABASE_PASSWORD: password(),
  TEMPORAL_DATABASE_PASSWORD: password(),
  SHOP_WRITE_PASSWORD: password(),
  SHOP_READ_PASSWORD: password(),
};

/** Writes the secrets of docker-compose.yml to `.env`, once and whole: whoever lost them could not open what they seal. */
const file = process.argv[2] ?? join(root, '.env');
const unfinished = `${file}.${process.pid}`;
const lines = Object.entries(values).map(([name, value]) => `${name}=${value}\n`);
try {
  writeFileSync(unfinished, lines.join(''), { mode: 0o600, flag: 'wx' });
  // Unlike a rename, a link replaces nothing.
  linkSync(unfinished, file);
  process.stdout.write(`wrote ${file}; keep a copy of SVC_SECRET_KEY where you keep backups\n`);
} catch (error) {
  if (error.code !== 'EEXIST') throw error;
  process.stderr.write(`error: ${file} already exists; its secrets are in use\n`);
  process.exitCode = 1;
} finally {
  rmSync(unfinished, { force: true });
}
