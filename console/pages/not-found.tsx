import { Page } from '../parts/page.js';
import { Empty } from '../parts/section.js';

export function NotFound() {
  return (
    <Page title="No such page">
      <Empty>
        There is nothing at this address. <a href="/console/">Go to the inbox</a>.
      </Empty>
    </Page>
  );
}
