import { describe, expect, it } from 'vitest';
import { findLostSections } from '../../config/lost-sections.js';
import { listRestartKeys } from '../../config/reload.js';
import { BUILTIN_REVIEW, changedSections, sharedContent } from '../../config/shared.js';
import { configOf, MINIMAL } from './support.js';

const policies = `${MINIMAL}[[databases]]\nname = "app"\nenvironments = ["qa"]
[[webhooks]]\nid = "a"\nurl = "https://a.example.net/one"\nsecret = "0123456789abcdef"
[[webhooks]]\nid = "b"\nurl = "https://b.example.net"\n`;

describe('the shared part of a configuration', () => {
  it('has one digest whatever the file looks like and whatever L keys and secrets hold (CF-30, CF-31)', () => {
    const { shared } = configOf(policies);
    const rewritten = configOf(
      policies
        .replace('a.example.net/one', 'c.example.net')
        .replace('0123456789abcdef', 'another-secret-text')
        .replaceAll('[[', '# note\n[['),
    );
    expect(sharedContent(rewritten.shared).digest).toBe(sharedContent(shared).digest);
    expect(sharedContent(shared).digest).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.parse(sharedContent(shared).content)).toEqual(shared);
    expect(changedSections(shared, rewritten.shared)).toEqual([]);
  });

  it('names the sections that changed as the file does', () => {
    const before = configOf(policies).shared;
    const after = configOf(
      `${policies.replace('"qa"', '"qa", "prod"')}[[execution_policies]]\n[auth]\ndefault_role = "dba"`,
    ).shared;
    expect(sharedContent(after).digest).not.toBe(sharedContent(before).digest);
    expect(changedSections(before, after)).toEqual(['auth.default_role', 'databases', 'execution_policies']);
  });

  it('names the sections of a first generation as the file does, without those that it lacks (CF-61)', () => {
    const first = configOf(`${MINIMAL}[[execution_policies]]\n[auth]\ndefault_role = "dba"`).shared;
    expect(changedSections(null, first)).toEqual(['auth.default_role', 'execution_policies']);
    expect(changedSections(null, configOf(MINIMAL).shared)).toEqual([]);
  });

  it('has 14 review rules with the documented defaults', () => {
    expect(Object.keys(BUILTIN_REVIEW.rules)).toHaveLength(14);
    expect(BUILTIN_REVIEW.rules).toMatchObject({ truncate: 'block', drop_index: 'warn', create_sequence: 'off' });
    expect(configOf(`${MINIMAL}[[sql_review]]\ntruncate = "off"`).shared.sqlReview[0]?.rules).toEqual({
      ...BUILTIN_REVIEW.rules,
      truncate: 'off',
    });
  });
});

describe('the guard against lost sections (CF-50)', () => {
  const inForce = configOf(policies).shared;

  it('refuses a file that has none of the entries in force, unless it says so', () => {
    const next = configOf(MINIMAL).shared;
    expect(findLostSections(inForce, next, ['databases'])).toEqual([
      {
        section: 'webhooks',
        entries: 2,
        message: 'the generation in force has 2 entries, the file has none',
        hint: 'add "webhooks" to allow_empty if this is meant',
      },
    ]);
    expect(findLostSections(inForce, next, ['databases', 'webhooks'])).toEqual([]);
  });

  it('lets sections shrink and grow, and a first generation be anything', () => {
    const empty = configOf(MINIMAL).shared;
    expect(findLostSections(inForce, inForce, [])).toEqual([]);
    expect(findLostSections(empty, inForce, [])).toEqual([]);
    expect(findLostSections(empty, empty, [])).toEqual([]);
  });
});

it('names the changed keys that need a restart, and only those (CF-42)', () => {
  const config = configOf(MINIMAL);
  const changed = {
    ...config,
    server: { ...config.server, listen: '127.0.0.1:4000', drainSecs: 5 },
    temporal: { ...config.temporal, tlsFiles: { ...config.temporal.tlsFiles, ca: '/ca.pem' } },
  };
  expect(listRestartKeys(config, changed)).toEqual(['server.listen', 'temporal.tls_files.ca']);
});
