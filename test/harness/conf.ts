import { ON_NODE_ENGINE } from './engine.ts';

/** A whole configuration file around the content of `http`. */
export interface ConfParts {
  readonly http: string;
  readonly dir: string;
  readonly port: number;
  readonly workers: number;
  /** Directives of the main context. */
  readonly main: string;
  /** Under a supervisor, as in production. */
  readonly supervised?: boolean | undefined;
}

/** Adds logs, pid file and ports to the content of `http`; directives of the test take precedence. */
export function wholeConf({ http, dir, port, workers, main, supervised = true }: ConfParts): string {
  const accessLog = /\baccess_log\s/.test(withoutText(http)) ? '' : `access_log ${dir}/access.log;`;
  const httpEngine = ON_NODE_ENGINE && !/\bhttp_engine\s/.test(main) ? 'http_engine node;' : '';
  const events = /\bevents\s*\{/.test(main) ? '' : 'events {}';
  // Running the rules would take part of a second for each gateway.
  const checking = /\bcheck\s*\{/.test(main) ? '' : 'check { log off; }';
  const alone = !supervised && !/\bmaster_process\s/.test(main) ? 'master_process off;' : '';
  // As in nginx, root's gateway becomes `nobody`, which cannot enter a test's private directory.
  const user = process.getuid?.() === 0 && !/\buser\s/.test(main) ? 'user root;' : '';
  return `daemon off; ${alone} ${user} pid ${dir}/gw.pid; error_log ${dir}/error.log info; worker_processes ${workers}; ${httpEngine} ${checking}
${main}
${events}
http { ${accessLog}
${withListen(http, port)}
}
`;
}

/** Adds the test's port to each `server` without `listen`, on the same line, so that places stay. */
export function withListen(http: string, port: number | string): string {
  const shape = withoutText(http);
  let result = '';
  let done = 0;
  for (const match of shape.matchAll(/(?<![^\s;{}])server\s*\{/g)) {
    const start = match.index + match[0].length;
    result += http.slice(done, start);
    if (!/(?<![^\s;{}])listen\s/.test(shape.slice(start, endOfBlock(shape, start)))) {
      result += ` listen 127.0.0.1:${port};`;
    }
    done = start;
  }
  return result + http.slice(done);
}

/** Returns the text with comments and quoted strings blanked out, so that all remaining braces and names are syntax. */
function withoutText(conf: string): string {
  return conf.replace(/(?<![^\s;{}])(#[^\n]*|"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*')/g, (text) =>
    ' '.repeat(text.length),
  );
}

function endOfBlock(shape: string, start: number): number {
  let depth = 1;
  for (let i = start; i < shape.length; i++) {
    if (shape[i] === '{') depth++;
    if (shape[i] === '}') depth--;
    if (depth === 0) return i;
  }
  return shape.length;
}
