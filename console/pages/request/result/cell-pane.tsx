import type { JsonText } from '../../../../lib/json/read.js';
import { visibleLines } from '../../../../lib/visible.js';
import { counted } from '../../../format/counts.js';
import { cellText } from '../../../format/export.js';
import { Copy } from '../../../parts/copy.js';
import { Dialog } from '../../../parts/dialog.js';
import { Text } from '../../../parts/text.js';

interface PaneProps {
  column: string;
  type: string;
  row: number;
  value: JsonText;
  onClose: () => void;
}

/** Of a larger value the page shows the beginning; what is copied is all of it. */
const maxShown = 100_000;

export function CellPane({ column, type, row, value, onClose }: PaneProps) {
  const text = cellText(value);
  return (
    <Dialog title={`${column}, row ${row}`} onClose={onClose}>
      <p class="quiet">
        {type !== '' && <Text of={`${type}, `} />}
        {text === null ? 'NULL' : counted(text.length, 'character')}
        {text !== null && text.length > maxShown && `, of which the first ${maxShown} are shown`}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <pre class="whole-value" tabIndex={0}>
        {text === null ? 'NULL' : visibleLines(text.slice(0, maxShown))}
      </pre>
      <div class="actions">
        {text !== null && <Copy text={text} what="the value" />}
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
