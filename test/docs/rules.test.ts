import { describe, expect, it } from 'vitest';
import { Citations, isKnown, listFiles, readRules, rulePages, textOf } from './rule-book.js';
import { notCited, provedByOthers } from './rules-without-test.js';

const rules = readRules();
const ids = rules.map(({ id }) => id);
const known = new Set(ids);
const files = listFiles().filter((file) => !file.startsWith('test/docs/rules'));
const everywhere = cited(files);
const byTests = cited(files.filter((file) => file.startsWith('test/')));

function cited(among: readonly string[]): Citations {
  const citations = new Citations(ids);
  for (const file of among) citations.add(file, textOf(file));
  return citations;
}

describe('docs/rules', () => {
  it('defines each id once, on the page that the README names for its letters', () => {
    expect(ids.length).toBeGreaterThan(1000);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    const owned = [...textOf('docs/rules/README.md').matchAll(/^\| \[([a-z-]+\.md)\].*\| ([A-Z, ]+) \|$/gm)];
    expect(owned.map(([, page]) => page).toSorted()).toEqual([...rulePages].toSorted());
    const pageOf = new Map(owned.flatMap(([, page, letters]) => letters!.split(', ').map((name) => [name, page!])));
    expect(rules.filter(({ id, page }) => pageOf.get(/^[A-Z]+/.exec(id)![0]) !== page)).toEqual([]);
  });

  it('has every rule that code, tests and docs name', () => {
    expect(everywhere.all().filter(([id]) => !isKnown(id, known))).toEqual([]);
  });

  it('has a test for each rule that is built: name the id in the test, or the reason in test/docs/rules-without-test.ts', () => {
    const reasons = new Set([...Object.keys(notCited), ...Object.keys(provedByOthers)]);
    const missing = rules.filter(({ id, isBuilt }) => isBuilt && !byTests.has(id) && !reasons.has(id));
    expect(missing.map(({ id, page }) => `${page}: ${id}`)).toEqual([]);
  });

  it('marks as not built yet only what no test names: take the mark away with what you build', () => {
    expect(rules.filter(({ id, isBuilt }) => !isBuilt && byTests.names(id))).toEqual([]);
  });
});

describe('the list of rules without a test of their own', () => {
  it('names rules that are built and that no test names', () => {
    const named = [...Object.keys(notCited), ...Object.keys(provedByOthers)];
    const expected = rules.filter(({ id, isBuilt }) => isBuilt && !byTests.has(id)).map(({ id }) => id);
    expect(named.toSorted()).toEqual(expected.toSorted());
  });

  it('names rules with a test where it says that others prove one', () => {
    const others = Object.values(provedByOthers).flat();
    expect(others.filter((id) => !known.has(id) || !byTests.has(id))).toEqual([]);
  });
});

describe('citations', () => {
  const found = (text: string) => {
    const citations = new Citations(ids);
    citations.add('file', text);
    return citations;
  };

  it('are single ids, with letters, invariants and decisions', () => {
    const all = found('refuses it (RQ-12, ET-21a, CF-I6, C14), D5: XX-99 and a C1 control').all();
    expect(all.map(([id]) => id)).toEqual(['RQ-12', 'ET-21a', 'CF-I6', 'C14', 'D5']);
  });

  it('are all that lies between the ends of a range', () => {
    const range = found('(RQ-80 to RQ-82), PF-17a to PF-17c, MI-I1 to MI-I2');
    expect(ids.filter((id) => range.has(id))).toEqual([
      ...['MI-I1', 'MI-I2', 'PF-17a', 'PF-17b', 'PF-17c', 'RQ-80', 'RQ-81', 'RQ-82'],
    ]);
  });

  it('are a whole family where only the number of a rule with letters stands, and know what does not exist', () => {
    expect(found('RS-43').has('RS-43g')).toBe(true);
    expect(['RS-43', 'RQ-12', 'RQ-999', 'CF-I99'].filter((id) => !isKnown(id, known))).toEqual(['RQ-999', 'CF-I99']);
  });
});
