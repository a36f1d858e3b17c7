export { compileAutoindex } from './autoindex.ts';
export { readEntries } from './entries.ts';
