# Links of the pages as Doxygen wants them: the header's leads to its reference, those to other sources and folders become
# plain text.
s,\]\((\.\./)?include/transformer\.h\),](@ref transformer.h),g
s,\[([^]]+)\]\([^):#]+\.(c|cpp|h|hpp|py|sh)\),\1,g
s,\[([^]]+)\]\([^):#.@]+\),\1,g
s,\[([^]]+)\]\(downstream/README\.md\),\1,g
