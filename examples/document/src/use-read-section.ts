import { useEffect } from 'react';
import { PLAN, type Section } from './plan.ts';

/** The section that is read begins above this part of the window. */
const UPPER_PART = 0.4;

function readSection(): Section {
  const isAbove = ({ id }: Section) => {
    const top = document.getElementById(id)?.getBoundingClientRect().top;
    return top !== undefined && top < innerHeight * UPPER_PART;
  };
  return PLAN.findLast(isAbove) ?? (PLAN[0] as Section);
}

/** Calls `onRead` when the reader has scrolled to another section. */
export function useReadSection(onRead: (section: Section) => void): void {
  useEffect(() => {
    let read = readSection();
    const onScroll = () => {
      const found = readSection();
      if (found !== read) onRead(found);
      read = found;
    };
    addEventListener('scroll', onScroll);
    return () => removeEventListener('scroll', onScroll);
  }, [onRead]);
}
