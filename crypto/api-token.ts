import { randomUUID } from 'node:crypto';
import { sha256Hex } from './hash.js';

export interface ApiToken {
  /** `svc_` and 32 lower-case hex characters; returned once and stored nowhere (IM-10, IM-11). */
  token: string;
  prefix: string;
  hash: string;
}

export const newApiToken = (): ApiToken => apiToken(`svc_${randomUUID().replaceAll('-', '')}`);

/** The token with what is stored of it. */
export const apiToken = (token: string): ApiToken => ({ token, prefix: token.slice(4, 12), hash: sha256Hex(token) });
