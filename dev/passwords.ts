import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

export interface Passwords {
  postgres: string;
  svc: string;
  /** For the demo's target databases: each environment has its own roles (HD-91). */
  shop: Record<ShopEnvironment, ShopPasswords>;
}

export type ShopEnvironment = 'staging' | 'production';

export interface ShopPasswords {
  rw: string;
  ro: string;
}

/** Reads the passwords; creates missing ones, at the first start or after an upgrade. Only the owner may read the file. */
export function loadPasswords(file: string): Passwords {
  const kept: Partial<Passwords> = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  const { postgres = random(), svc = random(), shop = { staging: pair(), production: pair() } } = kept;
  const passwords: Passwords = { postgres, svc, shop };
  if (JSON.stringify(kept) !== JSON.stringify(passwords)) {
    writeFileSync(`${file}.new`, JSON.stringify(passwords), { mode: 0o600, flush: true });
    renameSync(`${file}.new`, file);
  }
  return passwords;
}

const pair = (): ShopPasswords => ({ rw: random(), ro: random() });

function random(): string {
  return randomBytes(18).toString('base64url');
}
