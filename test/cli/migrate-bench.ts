import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { login, runSvc, type SvcOptions, type SvcResult } from './run-svc.js';
import { paths } from './samples.js';

/** A directory with files of migrations, and a server with canned answers. */
export interface MigrateBench {
  api: FakeApi;
  directory: string;
  write(name: string, text: string): void;
  /** Writes three files, of which the second has no down part. */
  threeFiles(): void;
  svc(argv: string[], options?: SvcOptions): Promise<SvcResult>;
  /** The first creation, its detail parsed. */
  sent(): { detail: object; idempotency_key: string };
}

export async function startMigrateBench(): Promise<MigrateBench> {
  const api = await startFakeApi();
  const directory = mkdtempSync(join(tmpdir(), 'svc-migrate-'));
  mkdirSync(join(directory, 'migrations'));
  const write = (name: string, text: string) => writeFileSync(join(directory, 'migrations', name), text);
  return {
    api,
    directory,
    write,
    threeFiles() {
      write('1_users.sql', '-- migrate:up\nCREATE TABLE users (id INT);\n-- migrate:down\nDROP TABLE users;\n');
      write('2_seed.sql', '-- migrate:up\nINSERT INTO users VALUES (1);\n');
      const index = 'CREATE INDEX CONCURRENTLY i ON users (id);';
      write('3_index.sql', `-- migrate:up transaction:false\n${index}\n-- migrate:down\nDROP INDEX i;\n`);
    },
    svc: (argv, options = {}) => runSvc(['migrate', ...argv], { environment: login(api.url), directory, ...options }),
    sent() {
      const [body] = api.bodies(paths.create);
      return { ...body, detail: JSON.parse(String(body!.detail)) } as { detail: object; idempotency_key: string };
    },
  };
}
