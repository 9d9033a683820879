import type { KnownBlock } from '@slack/types';
import { expect } from 'vitest';
import type { SlackMessage } from '../../domain/slack/blocks.js';
import { problemsOfBlocks } from './slack/block-limits.js';

/** Slack's published limits. The type holds the message to Slack's own types of blocks. */
export function expectFitsSlack(message: SlackMessage): void {
  const { text, blocks }: { text: string; blocks: KnownBlock[] } = message;
  expect(text.length).toBeGreaterThan(0);
  expect(text.length).toBeLessThanOrEqual(40_000);
  expect(problemsOfBlocks(blocks)).toEqual([]);
}

/** All texts of Slack's markup in a message. */
export const markupOf = ({ blocks }: SlackMessage): string[] =>
  blocks.flatMap((block) => {
    if (block.type === 'header' || block.type === 'actions') return [];
    if (block.type === 'context') return block.elements.map(({ text }) => text);
    return 'fields' in block ? block.fields.map(({ text }) => text) : [block.text.text];
  });

/** What stands in the code of a text, as a reader sees it, and the text around it with `\u25a1` in its place. */
export function codeIn(text: string): { code: string[]; around: string } {
  const code: string[] = [];
  const around = text.replace(/```([^`]*)```|`([^`\n]*)`/g, (_, block?: string, span?: string) => {
    code.push(shown(block ?? span ?? ''));
    return '\u25a1';
  });
  return { code, around };
}

const shown = (text: string) => text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
