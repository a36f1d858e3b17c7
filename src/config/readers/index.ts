export { cidr, readCidr } from './cidr.ts';
export { flag, oneOf } from './choice.ts';
export { mediaTypes } from './media-types.ts';
export { integer } from './number.ts';
export { parseSize, size } from './size.ts';
export { parseTimeMs, time } from './time.ts';
export { oneWord, present, text, texts, value, words } from './words.ts';
export { readVariableName } from './variable-name.ts';
