/* The pages of folder pages, which pages/embed.py makes texts of: what stands before their data, and what after it. */
#ifndef CLI_PAGES_H
#define CLI_PAGES_H

extern const char attention_before[], attention_after[], report_before[], report_after[];

#endif
