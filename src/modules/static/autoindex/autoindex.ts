import type { Exchange, Handler } from '../../../http/index.ts';
import type { StaticConfig } from '../config.ts';
import type { Site } from '../site.ts';
import { jsonListing, jsonpListing, xmlListing } from './data.ts';
import { readEntries } from './entries.ts';
import type { Entry } from './entries.ts';
import { htmlListing } from './html.ts';

/** A listing, and what type it is. */
interface Listing {
  readonly contentType: string;
  readonly text: string;
}

type Writer = (x: Exchange, entries: readonly Entry[]) => Listing;

/** Lists the directory that `$uri` names (nginx: ngx_http_autoindex_handler). */
export function compileAutoindex(config: StaticConfig, { paths, faults }: Site): Handler {
  const write = writerFor(config);
  return (x) => {
    const path = paths.of(x, x.uri);
    if (path === undefined) return faults.unsafe(x);
    const directory = path.length > 1 ? path.replace(/\/$/, '') : path;
    const callback = config.autoindexFormat === 'jsonp' ? callbackOf(x) : '';
    if (callback === undefined) return x.end(400);
    let entries: readonly Entry[];
    try {
      entries = readEntries(directory);
    } catch (error) {
      return faults.answer(x, directory, { call: 'opendir()', error: error as NodeJS.ErrnoException });
    }
    const { contentType, text } = write(x, entries);
    return x.send(200, contentType, Buffer.from(text, 'latin1'));
  };
}

function writerFor(config: StaticConfig): Writer {
  const json: Writer = (_x, entries) => ({ contentType: 'application/json', text: jsonListing(entries) });
  switch (config.autoindexFormat) {
    case 'json':
      return json;
    case 'jsonp':
      return (x, entries) => {
        const callback = callbackOf(x) ?? '';
        if (callback === '') return json(x, entries);
        return { contentType: 'application/javascript', text: jsonpListing(callback, entries) };
      };
    case 'xml':
      return (_x, entries) => ({ contentType: 'text/xml; charset=utf-8', text: xmlListing(entries) });
    case 'html': {
      const rules = { exactSize: config.autoindexExactSize, localTime: config.autoindexLocaltime };
      return (x, entries) => ({ contentType: 'text/html', text: htmlListing(x.uri, entries, rules) });
    }
  }
}

/** The name of a function that the client wants to be called; '' for none, `undefined` for what is no name: 400. */
function callbackOf({ args }: Exchange): string | undefined {
  const name = /(?:^|&)callback=([^&]*)/i.exec(args)?.[1] ?? '';
  return /^[\w.]*$/.test(name) ? name : undefined;
}
