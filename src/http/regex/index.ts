export { compileRegex, type Regex } from './regex.ts';
