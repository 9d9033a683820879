import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Passwords of the roles in the embedded PostgreSQL. */
export interface Passwords {
  postgres: string;
  svc: string;
  shop_rw: string;
  shop_ro: string;
}

/** Reads the passwords, making them at the first start; the file is for its owner only. */
export function loadPasswords(file: string): Passwords {
  if (!existsSync(file)) {
    const made: Passwords = { postgres: random(), svc: random(), shop_rw: random(), shop_ro: random() };
    writeFileSync(`${file}.new`, JSON.stringify(made), { mode: 0o600, flush: true });
    renameSync(`${file}.new`, file);
  }
  return JSON.parse(readFileSync(file, 'utf8')) as Passwords;
}

function random(): string {
  return randomBytes(18).toString('base64url');
}
