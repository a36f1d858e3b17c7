import type { MasterScope, WorkerScope } from '../../../contract/index.ts';
import { keepErrorLine, LOG_TAIL, openRing } from '../../../zone/index.ts';
import type { ConfigText } from './contract.ts';
import { History } from './history.ts';

const TEXT_KEY = 'control console configuration';

/** What a console uses in one worker. */
export interface ConsoleResources {
  readonly history: History;
  readonly text: ConfigText;
}

/** In the master: the configuration's text goes to the workers, who never read files themselves. */
export function prepareConsole(master: MasterScope): void {
  master.provide(TEXT_KEY, master.configText());
}

/** Begins to watch: counters and the error log, as long as some configuration has a console. */
export function openConsole(worker: WorkerScope): ConsoleResources {
  const tail = openRing(worker.zone(LOG_TAIL.name), worker.workerId);
  const hearLog = (): (() => void) =>
    worker.logListeners.add((level, text) => keepErrorLine(tail, level, text));
  worker.share('control console log', hearLog, (end) => end());
  const history = worker.share(
    'control console history',
    () => new History(worker.metrics),
    (opened) => opened.close(),
  );
  return { history, text: worker.provided(TEXT_KEY) as ConfigText };
}
