import type { ComponentChildren } from 'preact';
import { isMigration, migrationRule, readBundle } from '../../format/request-text.js';
import type { Schema } from '../../http/client.js';
import { Badge } from '../../parts/badge.js';
import { Section } from '../../parts/section.js';
import { Sql } from '../../parts/sql.js';
import { Name, Text } from '../../parts/text.js';
import { When } from '../../parts/when.js';

/** The whole text that runs: what is approved is what stands here (CO-32). */
export function Content({ request: { operation, detail, migrations } }: { request: Schema['Request'] }) {
  if (operation === 'migrate_status') return null;
  const bundle = isMigration(operation) ? readBundle(operation, detail) : null;
  if (bundle === null) return <Sql text={detail} label="SQL" />;
  if (bundle.repair !== null)
    return (
      <Section title="Repair">
        <p>
          <Text of={bundle.repair} />
        </p>
      </Section>
    );
  return (
    <Section title="Migrations" note={migrationRule(bundle)}>
      {bundle.hash !== null && (
        <p class="quiet">
          folder <Name of={bundle.hash} />
        </p>
      )}
      {bundle.migrations.map(({ version, sql, transactional }) => (
        <Folded key={version} version={version} seenAt={migrations?.applied.includes(version) ? migrations.seen_at : null}>
          {!transactional && <Badge tone="wait">without a transaction</Badge>}
          <Sql text={sql} label={version} />
        </Folded>
      ))}
    </Section>
  );
}

/** What is applied already does not run again, so nobody has to read it. */
function Folded({ version, seenAt, children }: { version: string; seenAt: string | null; children: ComponentChildren }) {
  if (seenAt === null) return <div>{children}</div>;
  return (
    <details>
      <summary>
        <Name of={version} />{' '}
        <span class="quiet">
          applied, seen <When at={seenAt} />
        </span>
      </summary>
      {children}
    </details>
  );
}
