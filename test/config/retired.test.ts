import { describe, expect, it } from 'vitest';
import { errorsOf, MINIMAL } from './support.js';

describe('retired keys (CF-4)', () => {
  it.each([
    ['[[users]]\nid = "a"', '4:1: users'],
    ['[[auto_approve]]\nmode = "always"', '4:1: auto_approve'],
    ['[tracing]\nendpoint = "http://localhost:4318"', '4:1: tracing'],
    ['[[auth.role_bindings]]\nrole = "dba"', '4:1: auth.role_bindings'],
    ['[[auth.groups]]\nname = "g"\nmembers = ["a"]', '6:1: auth.groups[0] "g".members'],
    ['[sql_review]\ntruncate = "off"', '4:1: sql_review'],
    [
      '[auth.oidc]\nissuer = "https://a.example.net"\nclient_id = "svc"\nclient_secret_env = "X"',
      '7:1: auth.oidc.client_secret_env',
    ],
  ])('%j is an error that says what replaces it', (added, place) => {
    const errors = errorsOf(MINIMAL + added);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(/\(.+\)$/);
    expect(errors[0]?.startsWith(`server.toml:${place}: `)).toBe(true);
  });
});
