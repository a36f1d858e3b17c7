import type { LocationStatus, Status } from './status.ts';

/** A status for people. */
export function statusText(status: Status): string {
  const { connections, requests, lastReload, workers, locations, pools, flags } = status;
  const lines = [
    `gw ${status.version} · node ${status.node} · up ${duration(status.uptimeSeconds)}`,
    `configuration  loaded ${lastReload.succeededAt}${lastReload.successful ? '' : ', a later reload was refused'}`,
    `connections    ${connections.active} active, ${connections.writing} writing, ${connections.waiting} waiting, ${connections.accepted} accepted in all`,
    `requests       ${requests.total} in all, ${requests.perSecond.toFixed(1)} per second`,
    ...table('workers', [
      ['WORKER', 'HEAP', 'LAG', 'RESTARTS'],
      ...workers.map(({ id, heapBytes, lagSeconds, restarts }) => [
        id,
        `${(heapBytes / 1_048_576).toFixed(1)} MB`,
        milliseconds(lagSeconds),
        String(restarts),
      ]),
    ]),
    ...table('locations', [
      ['SERVER', 'LOCATION', 'REQUESTS', '2xx', '3xx', '4xx', '5xx', 'MEAN'],
      ...locations.map(locationCells),
    ]),
    ...table('pools', [
      ['DATABASE', 'MAX', 'AVAILABLE', 'WAITING', 'TIMEOUTS'],
      ...pools.map(({ database, max, available, waiting, timeouts }) =>
        [database, max, available, waiting, timeouts].map(String),
      ),
    ]),
    ...table('flags', [
      ['FLAG', 'STATE'],
      ...Object.entries(flags).map(([name, on]) => [name, on ? 'on' : 'off']),
    ]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function locationCells({ server, location, requests, classes, meanSeconds }: LocationStatus): string[] {
  const byClass = ['2xx', '3xx', '4xx', '5xx'].map((key) => String(classes[key] ?? 0));
  return [server, location || '-', String(requests), ...byClass, milliseconds(meanSeconds)];
}

/** Columns as wide as their widest cell; nothing when there is no row but the heading. */
function table(title: string, rows: readonly (readonly string[])[]): string[] {
  if (rows.length < 2) return [];
  const widths = (rows[0] as readonly string[]).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return ['', title, ...lines.map((line) => `  ${line.trimEnd()}`)];
}

function milliseconds(seconds: number): string {
  return `${(seconds * 1000).toFixed(1)} ms`;
}

function duration(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  const shown = first < 0 ? parts.slice(-1) : parts.slice(first, first + 2);
  return shown.map(([count, unit]) => `${count}${unit}`).join(' ');
}
