import { compactJson, type JsonText } from '../../../../lib/json/read.js';
import { Lines, Name } from '../../../parts/text.js';

const titles: Record<string, string> = {
  applied: 'Applied',
  reverted: 'Reverted',
  applied_before_failure: 'Applied before the failure',
  reverted_before_failure: 'Reverted before the failure',
  applied_versions: 'Applied',
  out_of_order: 'Applied out of order',
};

/** What a migration did, by its versions; of any other form the JSON itself. */
export function Migrated({ data, fallback }: { data: JsonText; fallback: string }) {
  const lists = data.entries().filter(([key, value]) => key in titles && value.kind === 'array');
  if (lists.length === 0) return <Lines of={compactJson(fallback)} />;
  return (
    <dl class="facts">
      {lists.map(([key, value]) => (
        <div key={key}>
          <dt>{titles[key]}</dt>
          <dd>
            {value.items().length === 0 && <span class="quiet">none</span>}
            {value.items().map((version, index) => (
              <Name key={index} of={`${version.string() ?? version.text} `} />
            ))}
          </dd>
        </div>
      ))}
    </dl>
  );
}
