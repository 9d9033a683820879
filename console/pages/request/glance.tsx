import type { ComponentChildren } from 'preact';
import { foundText, rowsExpected } from '../../format/affected.js';
import { changeText } from '../../format/change.js';
import { type Factor, factorText } from '../../format/risk.js';
import type { Schema } from '../../http/client.js';
import { Pair, Risk } from '../../parts/badge.js';
import { Text } from '../../parts/text.js';
import { When } from '../../parts/when.js';

/** What an approver has to know first: what, where, how many rows, how risky, what was found, who, and why. */
export function Glance({ request }: { request: Schema['Request'] }) {
  const { database, environment, context, requester, created_at, reason } = request;
  const rows = rowsExpected(request);
  const found = foundText(context);
  const factors = (context.risk?.factors ?? []) as Factor[];
  return (
    <section class="glance card" aria-label="At a glance">
      <Fact name="What" more={request.emergency ? 'an emergency' : undefined}>
        {changeText(request)}
      </Fact>
      <Fact name="Where">
        <Pair database={database} environment={environment} />
      </Fact>
      <Fact name="Rows" more={rows.source}>
        {rows.text}
      </Fact>
      <Fact name="Risk" more={<Text of={factors.map(factorText).join(', ')} />}>
        {context.risk === null ? 'not judged' : <Risk level={context.risk.level} />}
      </Fact>
      <Fact name="Found">{found ?? (context.sql_review === null ? 'not reviewed' : 'nothing')}</Fact>
      <Fact name="Who" more={<When at={created_at} />}>
        <Text of={requester} />
      </Fact>
      <div class="why">
        <span class="term">Why</span>
        {reason === null ? <span class="quiet">no reason was given</span> : <Text of={reason} />}
      </div>
    </section>
  );
}

function Fact({ name, more, children }: { name: string; more?: ComponentChildren; children: ComponentChildren }) {
  return (
    <div class="fact">
      <span class="term">{name}</span>
      <span class="value">{children}</span>
      {more !== undefined && <span class="quiet">{more}</span>}
    </div>
  );
}
