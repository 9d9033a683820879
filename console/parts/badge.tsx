import type { ComponentChildren } from 'preact';
import { visible } from '../../lib/visible.js';
import { riskText, riskTone } from '../format/risk.js';
import { statusShown, type Tone } from '../format/status.js';

export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

export function Status({ of }: { of: string }) {
  const { word, tone, sign } = statusShown(of);
  return (
    <Badge tone={tone}>
      <span aria-hidden="true">{sign}</span> {visible(word)}
    </Badge>
  );
}

export function Risk({ level }: { level: string }) {
  return <Badge tone={riskTone(level)}>{visible(riskText(level))}</Badge>;
}

/** A pair; production is told by its name, so all look the same. */
export function Pair({ database, environment }: { database: string; environment: string }) {
  return (
    <span class="pair">
      <bdi>{visible(database)}</bdi>
      <span class="slash">/</span>
      <bdi class="environment">{visible(environment)}</bdi>
    </span>
  );
}
