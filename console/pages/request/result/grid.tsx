// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus and names its active cell
// biome-ignore-all lint/a11y/useSemanticElements: rows and cells out of sight do not exist, which the elements of a table cannot tell
import { useMemo, useRef, useState } from 'preact/hooks';
import type { JsonText } from '../../../../lib/json/read.js';
import { visible } from '../../../../lib/visible.js';
import { columnWidth, filtered, isNumeric, moved, type Place } from '../../../format/grid.js';
import { useVirtual } from '../../../parts/virtual.js';
import { Cell } from './cell.js';
import { CellPane } from './cell-pane.js';
import { Tools } from './tools.js';

interface GridProps {
  columns: readonly string[];
  types: readonly string[];
  rows: readonly (readonly JsonText[])[];
  /** Of the files that are made of it. */
  name: string;
}

const rowHeight = 28;
const charWidth = 7.4;
const padding = 20;

const px = (length: number) => `${length}px`;

/** The rows that are wanted, and the chosen cell in a pane of its own. */
export function Grid({ columns, types, rows, name }: GridProps) {
  const [wanted, setWanted] = useState('');
  const [at, choose] = useState<Place>({ row: 0, column: 0 });
  const [isOpen, setIsOpen] = useState(false);
  const shown = useMemo(() => filtered(rows, wanted), [rows, wanted]);
  const value = shown[at.row]?.[at.column];
  return (
    <>
      <Tools columns={columns} rows={shown} total={rows.length} name={name} wanted={wanted} onFilter={setWanted} />
      <Sheet {...{ columns, types, rows, shown, at }} onChoose={choose} onOpen={() => setIsOpen(true)} />
      {isOpen && value !== undefined && (
        <CellPane
          column={columns[at.column] ?? ''}
          type={types[at.column] ?? ''}
          row={at.row + 1}
          value={value}
          onClose={() => setIsOpen(false)}
        />
      )}
    </>
  );
}

interface SheetProps extends Omit<GridProps, 'name'> {
  shown: GridProps['rows'];
  at: Place;
  onChoose: (place: Place) => void;
  onOpen: () => void;
}

/** Shows only the rows and columns in sight, so that 10,000 × 50 scroll as well as ten. Arrow keys move from cell to cell. */
function Sheet({ columns, types, rows, shown, at, onChoose, onOpen }: SheetProps) {
  const { scroller, vertical, inSight, scrollTo } = useSheet(columns, types, rows, shown);
  const press = (event: KeyboardEvent) => {
    const place = moved(at, event.ctrlKey ? `Control+${event.key}` : event.key, shown.length, columns.length);
    if (place !== null) {
      onChoose(place);
      scrollTo(place);
    } else if (event.key === 'Enter') onOpen();
    else return;
    event.preventDefault();
  };
  return (
    <div
      class="grid"
      ref={scroller}
      role="grid"
      tabIndex={0}
      aria-label="Result"
      aria-rowcount={shown.length + 1}
      aria-colcount={columns.length}
      aria-activedescendant={shown[at.row]?.[at.column] === undefined ? undefined : `cell-${at.row}-${at.column}`}
      onKeyDown={press}
    >
      <Head columns={columns} types={types} inSight={inSight} />
      <div class="grid-body" role="rowgroup" style={{ width: px(inSight.width), height: px(vertical.getTotalSize()) }}>
        {vertical.getVirtualItems().map(({ index, start }) => (
          <Row key={index} {...{ index, start, inSight, at, onChoose, onOpen }} cells={shown[index] ?? []} />
        ))}
      </div>
    </div>
  );
}

/** How wide its columns are, and which part of it is in sight. */
function useSheet(columns: readonly string[], types: readonly string[], rows: GridProps['rows'], shown: GridProps['rows']) {
  const scroller = useRef<HTMLDivElement>(null);
  const shape = useMemo(
    () =>
      columns.map((column, index) => ({
        width: columnWidth(column, rows, index) * charWidth + padding,
        right: isNumeric(types[index], rows, index),
      })),
    [columns, types, rows],
  );
  const getScrollElement = () => scroller.current;
  const vertical = useVirtual({ count: shown.length, getScrollElement, estimateSize: () => rowHeight, overscan: 8 });
  const across = useVirtual({
    count: columns.length,
    getScrollElement,
    estimateSize: (index) => shape[index]?.width ?? 80,
    horizontal: true,
    overscan: 2,
  });
  const inSight: InSight = { columns: across.getVirtualItems(), shape, width: across.getTotalSize() };
  const scrollTo = ({ row, column }: Place) => {
    vertical.scrollToIndex(row, { align: 'auto' });
    across.scrollToIndex(column, { align: 'auto' });
  };
  return { scroller, vertical, inSight, scrollTo };
}

/** The columns in sight, and how wide all are together. */
interface InSight {
  columns: readonly { index: number; start: number; size: number }[];
  shape: readonly { right: boolean }[];
  width: number;
}

function Head({ columns, types, inSight }: Pick<GridProps, 'columns' | 'types'> & { inSight: InSight }) {
  return (
    <div class="grid-head" role="row" aria-rowindex={1} style={{ width: px(inSight.width) }}>
      {inSight.columns.map(({ index, start, size }) => (
        <div
          key={index}
          role="columnheader"
          aria-colindex={index + 1}
          class={inSight.shape[index]?.right ? 'right' : ''}
          style={{ left: px(start), width: px(size) }}
          title={visible(types[index] ?? '')}
        >
          {visible(columns[index] ?? '')}
        </div>
      ))}
    </div>
  );
}

interface RowProps {
  index: number;
  start: number;
  cells: readonly JsonText[];
  inSight: InSight;
  at: Place;
  onChoose: (place: Place) => void;
  onOpen: () => void;
}

function Row({ index: row, start: top, cells, inSight, at, onChoose, onOpen }: RowProps) {
  return (
    <div role="row" aria-rowindex={row + 2} class="grid-row" style={{ top: px(top), width: px(inSight.width) }}>
      {inSight.columns.map(({ index, start, size }) => (
        <Cell
          key={index}
          value={cells[index]}
          id={`cell-${row}-${index}`}
          column={index}
          isChosen={at.row === row && at.column === index}
          right={inSight.shape[index]?.right ?? false}
          style={{ left: px(start), width: px(size) }}
          onChoose={() => onChoose({ row, column: index })}
          onOpen={onOpen}
        />
      ))}
    </div>
  );
}
