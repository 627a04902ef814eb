/**
 * Builds the published `dist`. The sources have no JSX: Node runs them as they are, so there is one way from a source to
 * tests and package, and three elements are no burden to write with `createElement`.
 */
import { buildPackage } from '../build-package.ts';

buildPackage(import.meta.dirname);
