import { useState } from 'preact/hooks';
import type { JsonText } from '../../../../lib/json/read.js';
import { counted } from '../../../format/counts.js';
import { csvText, type Grid, jsonText, ndjsonText, tsvText } from '../../../format/export.js';
import { Copy } from '../../../parts/copy.js';
import { download } from '../../../parts/download.js';

interface ToolsProps {
  columns: readonly string[];
  rows: readonly (readonly JsonText[])[];
  total: number;
  name: string;
  wanted: string;
  onFilter: (wanted: string) => void;
}

const formats = {
  csv: { name: 'CSV', type: 'text/csv' },
  json: { name: 'JSON', type: 'application/json' },
  ndjson: { name: 'NDJSON', type: 'application/x-ndjson' },
} as const;

/** Filter, copy and download. Both take the rows that the filter leaves. */
export function Tools({ columns, rows, total, name, wanted, onFilter }: ToolsProps) {
  const [neutralised, setNeutralised] = useState(false);
  const grid: Grid = { columns, rows };
  const texts = { csv: () => csvText(grid, { neutralised }), json: () => jsonText(grid), ndjson: () => ndjsonText(grid) };
  return (
    <div class="tools">
      <label>
        <span class="hidden">Only rows that contain</span>
        <input
          type="search"
          placeholder="only rows with …"
          value={wanted}
          onInput={(event) => onFilter(event.currentTarget.value)}
        />
      </label>
      <span class="quiet" role="status">
        {wanted !== '' && `${counted(rows.length, 'row')} of ${total}`}
      </span>
      <span class="spring" />
      <Copy text={() => tsvText(grid, { neutralised })} what="of the rows" label="copy TSV" />
      {(Object.keys(formats) as (keyof typeof formats)[]).map((format) => (
        <button
          key={format}
          type="button"
          class="small"
          onClick={() => download(`${name}.${format}`, formats[format].type, texts[format]())}
        >
          {formats[format].name}
        </button>
      ))}
      <label
        class="check"
        title="A cell that begins like a formula gets an apostrophe before it, so that a spreadsheet does not run it."
      >
        <input type="checkbox" checked={neutralised} onChange={(event) => setNeutralised(event.currentTarget.checked)} />
        CSV and TSV without formulas
      </label>
    </div>
  );
}
