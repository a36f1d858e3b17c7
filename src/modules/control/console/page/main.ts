import { Live } from './api.ts';
import { DIGITS, type OpenView, type Page, Shell } from './shell.ts';
import { openApi } from './views/api.ts';
import { openCaches } from './views/caches.ts';
import { openCluster } from './views/cluster.ts';
import { openConfig } from './views/config.ts';
import { openData } from './views/data.ts';
import { openEvents } from './views/events.ts';
import { openFlags } from './views/flags.ts';
import { openLog } from './views/log.ts';
import { openOverview } from './views/overview.ts';
import { openRoutes } from './views/routes.ts';
import { openUpstreams } from './views/upstreams.ts';

const PAGES: readonly (Page & { readonly open: OpenView })[] = [
  { name: 'overview', label: 'Overview', open: openOverview },
  { name: 'routes', label: 'Routes', open: openRoutes },
  { name: 'config', label: 'Configuration', open: openConfig },
  { name: 'data', label: 'Data', open: openData },
  { name: 'events', label: 'Events', open: openEvents },
  { name: 'flags', label: 'Flags', open: openFlags },
  { name: 'log', label: 'Log', open: openLog },
  { name: 'upstreams', label: 'Upstreams', open: openUpstreams },
  { name: 'caches', label: 'Caches', open: openCaches },
  { name: 'api', label: 'API', open: openApi },
  { name: 'cluster', label: 'Cluster', open: openCluster },
];

/** Builds the console in the empty document. */
export function start(): void {
  const shell = new Shell(PAGES);
  const live = new Live((message) => {
    if (message !== undefined) shell.fail(message);
  });
  live.listen((seen) => shell.tell(seen));
  let leave = new AbortController();
  const open = (): void => {
    leave.abort();
    leave = new AbortController();
    const wanted = location.hash.slice(1).replace(/[/?].*$/, '');
    const page = PAGES.find(({ name }) => name === wanted) ?? PAGES[0];
    if (page) shell.open(page.name, page.open({ live, signal: leave.signal }));
  };
  addEventListener('hashchange', open);
  addEventListener('keydown', (event) => jump(event));
  open();
  void live.run(new AbortController().signal);
}

/** Handles keys: a digit opens its view (0 the tenth), a slash focuses the filter; not while a field has the focus. */
function jump(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if ((event.target as Element | null)?.closest('input, textarea, select')) return;
  const page = event.key.length === 1 ? PAGES[DIGITS.indexOf(event.key)] : undefined;
  if (page) location.hash = page.name;
  if (event.key !== '/') return;
  const filter = document.querySelector<HTMLInputElement>('[type=search], [data-first]');
  if (filter) event.preventDefault();
  filter?.select();
}
