import { lstatSync, readdirSync, type Stats, statSync } from 'node:fs';
import { escapeMarkup, type Exchange, type Handler } from '../../http/index.ts';
import type { StaticConfig } from './directives.ts';
import { factsOf, type FileFacts } from './files.ts';
import type { Site } from './site.ts';

/** One entry of a directory. Names are bytes (as latin1): they need not be UTF-8. */
interface DirectoryEntry extends FileFacts {
  readonly name: string;
}

/**
 * Reads the entries of a listing: directories first, sorted by the bytes of the name, without hidden files. Throws
 * errors of the system.
 */
export function readEntries(directory: string): readonly DirectoryEntry[] {
  const names = readdirSync(directory, { encoding: 'latin1' }).filter((name) => !name.startsWith('.'));
  const base = Buffer.from(`${directory}/`);
  const entries: DirectoryEntry[] = [];
  for (const name of names) {
    const stats = lookAt(Buffer.concat([base, Buffer.from(name, 'latin1')]));
    if (stats) entries.push({ name, ...factsOf(stats) });
  }
  return entries.sort(compare);
}

/**
 * Returns the properties of a link's target, or of the link if it has none; `undefined` for files that have gone or are
 * not accessible.
 */
function lookAt(path: Buffer): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ELOOP') return lstatSync(path, { throwIfNoEntry: false });
    if (code === 'EACCES') return undefined;
    throw error;
  }
}

function compare(one: DirectoryEntry, other: DirectoryEntry): number {
  const oneFirst = Number(other.kind === 'directory') - Number(one.kind === 'directory');
  if (oneFirst !== 0) return oneFirst;
  return one.name < other.name ? -1 : Number(one.name > other.name);
}

/** Converts UTF-8 text to the bytes that listings are made of. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** The format of names, dates and sizes. */
interface HtmlRules {
  readonly exactSize: boolean;
  readonly localTime: boolean;
  /** The width of names is counted in characters instead of bytes. */
  readonly utf8: boolean;
}

/** Width of the column of names; longer ones are cut. */
const NAME_WIDTH = 50;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Writes the listing as HTML (nginx: ngx_http_autoindex_html). */
function htmlListing(uri: string, entries: readonly DirectoryEntry[], rules: HtmlRules): string {
  const title = escapeMarkup(bytesOf(uri));
  const offsetMs = rules.localTime ? new Date().getTimezoneOffset() * 60_000 : 0;
  const lines = entries.map((entry) => line(entry, { ...rules, offsetMs }));
  return (
    `<html>\r\n<head><title>Index of ${title}</title></head>\r\n<body>\r\n` +
    `<h1>Index of ${title}</h1><hr><pre><a href="../">../</a>\r\n${lines.join('')}</pre><hr></body>\r\n</html>\r\n`
  );
}

function line(
  entry: DirectoryEntry,
  { exactSize, utf8, offsetMs }: HtmlRules & { readonly offsetMs: number },
): string {
  const { name, kind, modifiedSeconds, sizeBytes } = entry;
  const slash = kind === 'directory' ? '/' : '';
  const characters = (utf8 && charactersOf(name)) || Array.from(name);
  const free = NAME_WIDTH - characters.length;
  const fits = free > 0 ? slash : '';
  const start = characters.slice(0, NAME_WIDTH - 3).join('');
  const shown = free < 0 ? `${escapeMarkup(start)}..&gt;` : escapeMarkup(name) + fits;
  const padding = ' '.repeat(Math.max(free - fits.length, 0));
  const size = kind === 'directory' ? '-' : sizeText(sizeBytes, exactSize);
  return `<a href="${escapeName(name)}${slash}">${shown}</a>${padding} ${dateText(modifiedSeconds * 1000 - offsetMs)} ${size.padStart(exactSize ? 19 : 7)}\r\n`;
}

/** Splits a name into the bytes of each character; `undefined` if it is not UTF-8. */
function charactersOf(name: string): readonly string[] | undefined {
  const text = Buffer.from(name, 'latin1').toString();
  return bytesOf(text) === name ? Array.from(text, bytesOf) : undefined;
}

/**
 * Escapes everything but letters, digits and `-._~`: with a colon, a name could be taken for a URL (ngx_escape_uri, URI
 * component).
 */
function escapeName(name: string): string {
  return name.replace(
    /[^\w.~-]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

function dateText(ms: number): string {
  const date = new Date(ms);
  const two = (number: number): string => String(number).padStart(2, '0');
  const day = `${two(date.getUTCDate())}-${MONTHS[date.getUTCMonth()]}-${date.getUTCFullYear()}`;
  return `${day} ${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`;
}

/** The smallest size that is shown in a unit, and the unit; sizes are rounded to the nearest. */
const UNITS = [
  [2 ** 30, 2 ** 30, 'G'],
  [2 ** 20, 2 ** 20, 'M'],
  [10_000, 2 ** 10, 'K'],
] as const;

function sizeText(sizeBytes: number, exact: boolean): string {
  if (exact) return String(sizeBytes);
  for (const [from, unit, letter] of UNITS)
    if (sizeBytes >= from) return `${Math.floor((sizeBytes + unit / 2) / unit)}${letter}`;
  return String(sizeBytes);
}

const CONTROL_NAMES: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\b': '\\b',
  '\f': '\\f',
};

/** Writes the listing as JSON (nginx: ngx_http_autoindex_json). */
function jsonListing(entries: readonly DirectoryEntry[]): string {
  const items = entries.map(({ name, kind, modifiedSeconds, sizeBytes }) => {
    const mtime = new Date(modifiedSeconds * 1000).toUTCString();
    const size = kind === 'file' ? `, "size":${sizeBytes}` : '';
    return `{ "name":"${escapeJson(name)}", "type":"${kind}", "mtime":"${mtime}"${size} }`;
  });
  return `[\r\n${items.join(',\r\n')}${items.length > 0 ? '\r\n' : ''}]`;
}

/** Writes the listing as JSONP. */
function jsonpListing(callback: string, entries: readonly DirectoryEntry[]): string {
  return `/* callback */\r\n${callback}(${jsonListing(entries)});`;
}

/** Writes the listing as XML (nginx: ngx_http_autoindex_xml). */
function xmlListing(entries: readonly DirectoryEntry[]): string {
  const lines = entries.map(({ name, kind, modifiedSeconds, sizeBytes }) => {
    const mtime = `${new Date(modifiedSeconds * 1000).toISOString().slice(0, 19)}Z`;
    const size = kind === 'file' ? ` size="${sizeBytes}"` : '';
    return `<${kind} mtime="${mtime}"${size}>${escapeMarkup(name)}</${kind}>\r\n`;
  });
  return `<?xml version="1.0"?>\r\n<list>\r\n${lines.join('')}</list>\r\n`;
}

function escapeJson(text: string): string {
  // eslint-disable-next-line no-control-regex -- it escapes control bytes
  return text.replace(/["\\\0-\x1f]/g, (character) => {
    if (character === '"' || character === '\\') return `\\${character}`;
    return (
      CONTROL_NAMES[character] ?? `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
    );
  });
}

/** A listing that is yet to be written. The charset of its content type decides how names are read. */
interface Listing {
  readonly contentType: string;
  write(entries: readonly DirectoryEntry[], responseType: string): string;
}

/** Compiles the handler that lists the directory of `$uri` (nginx: ngx_http_autoindex_handler). */
export function compileAutoindex(config: StaticConfig, { paths, faults }: Site): Handler {
  const listingFor = compileFormat(config);
  return (x) => {
    const path = paths.of(x, x.uri);
    if (path === undefined) return faults.unsafe(x);
    const directory = path.length > 1 ? path.replace(/\/$/, '') : path;
    const listing = listingFor(x);
    if (!listing) return x.end(400);
    let entries: readonly DirectoryEntry[];
    try {
      entries = readEntries(directory);
    } catch (error) {
      return faults.respond(x, directory, { call: 'opendir()', error: error as NodeJS.ErrnoException });
    }
    // A filter may set the charset when the head is sent, which happens before the body is written.
    const stream = x.stream(200, listing.contentType);
    stream?.write(Buffer.from(listing.write(entries, x.response.type), 'latin1'));
    stream?.end();
  };
}

const JSON_LISTING: Listing = { contentType: 'application/json', write: jsonListing };
const XML_LISTING: Listing = { contentType: 'text/xml; charset=utf-8', write: xmlListing };

/** Returns the format of the listing; `undefined` if the request is invalid. */
function compileFormat(config: StaticConfig): (x: Exchange) => Listing | undefined {
  switch (config.autoindexFormat) {
    case 'json':
      return () => JSON_LISTING;
    case 'xml':
      return () => XML_LISTING;
    case 'jsonp':
      return jsonpFor;
    case 'html': {
      const rules = { exactSize: config.autoindexExactSize, localTime: config.autoindexLocaltime };
      return ({ uri }) => ({
        contentType: 'text/html',
        write: (entries, type) =>
          htmlListing(uri, entries, { ...rules, utf8: /; charset=utf-8$/i.test(type) }),
      });
    }
  }
}

/** Returns JSONP with the callback that the client names, or JSON without one. */
function jsonpFor({ args }: Exchange): Listing | undefined {
  const callback = /(?:^|&)callback=([^&]*)/i.exec(args)?.[1] ?? '';
  if (callback === '') return JSON_LISTING;
  if (!/^[\w.]+$/.test(callback)) return undefined;
  return { contentType: 'application/javascript', write: (entries) => jsonpListing(callback, entries) };
}
